// Package retrieval makes passages of pages and finds those that fit a query.
package retrieval

// A Passage is a part of a page.
type Passage struct{ URL, Title, Text string }
