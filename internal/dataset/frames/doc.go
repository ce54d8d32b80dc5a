// Package frames reads the data set of E2E-RAG: pages of Wikipedia, and the questions of FRAMES about them.
//
//	pages, err := frames.OpenPages(dir)         // doc_html/*.html and doc_html/url_mapping.json
//	questions, err := frames.ReadQuestions(dir) // data/frames_dataset.tsv
//
// The layout is that which the reference's script leaves (e2e-rag, scripts/download_dataset_and_models.sh): docs.tar.gz is unpacked into
// doc_html. Sample i of e2e-rag-db is the i-th page in the order of file names, sample i of e2e-rag-qna the i-th question. Package
// models/rag/retrieval makes texts of pages.
package frames
