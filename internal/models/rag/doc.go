// Package rag has the benchmarks of retrieval: questions that a chain of calls of servers and searches answers (e2e-rag-qna), and the
// database that it searches (e2e-rag-db).
//
//	for _, model := range rag.RemoteModels() { … }
//
// chain.go is the chain of a question: a query writer, the search of package retrieval, a grader, a check whether the passages suffice, and
// the answer. It leaves out how pages become passages and how passages are found: that is package retrieval.
package rag
