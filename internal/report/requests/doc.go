// Package requests is requests.jsonl.gz: what became of each request of a test, a line of JSON each.
//
// The first line is a Header, whose schema names the form. It is followed by the requests in the order in which they were due:
//
// {"schema":"mlperf-go/requests/1","program":"mlperf
// 1.0","created":"2026-07-08T09:10:11Z","model":"m","scenario":"Server","times":"nanoseconds since the start of the traffic"}
//
// {"id":1,"sample":7,"due_ns":1000,"sent_ns":1400,"first_token_ns":52000000,"piece_ns":[52000000,62000000],"done_ns":62000000,"tokens":2,"end":"length"}
//
// The package knows no server: who sends requests notes their times (backend.Trace). No command of this program reads the file: its JSON
// Schema is for those of others.
package requests
