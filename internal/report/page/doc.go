// Package page writes HTML pages about runs: one file each, which needs no network, can be
// sent by mail, printed, and read on a phone.
//
//	err := page.WriteRun(dir) // report.html from results.json and charts.json
//
// Charts are drawn by uPlot (MIT licence, uplot.LICENSE), which is in the page. A content
// security policy lets nothing run but the page's own script, whatever names and logs say;
// html/template escapes them besides.
package page
