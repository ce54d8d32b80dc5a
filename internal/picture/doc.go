// Package picture draws a figure as PNG or SVG, for documents that cannot hold a page.
//
//	err := picture.Draw(w, figure, "svg")
//
// It draws what the page draws, without what moves.
package picture
