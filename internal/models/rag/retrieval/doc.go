// Package retrieval makes passages of pages and finds those that are nearest to a question: the retrieval of E2E-RAG.
//
//	d := retrieval.NewDatabase(encoder, reranker)
//	passages, missing := page.Passages()            // HTML → text → windows of 768 characters
//	err := d.Add(ctx, passages)                     // pieces → states → a vector each → index
//	found, err := d.Lookup(ctx, "Who founded …?", 10)
//	found, err = d.Rerank(ctx, "Who founded …?", found)
//
// page.go makes texts and windows, network.go vectors and scores by an engine, index.go finds vectors, database.go joins them and has the file,
// manifest.go compares a database with another one.
//
// The index is the reference's, HNSW with M 32, efConstruction 200 and efSearch 100, since the manifest of a database has to have these
// numbers (e2e-rag, db_manifest.py), and since making it is part of what e2e-rag-db measures; a search through all vectors would leave
// that work out.
//
// # What is left out
//
// Databases of FAISS are pickles of its memory and are not read. PDF files, other windows and other indexes of the reference's scripts, which
// the benchmark does not use.
package retrieval
