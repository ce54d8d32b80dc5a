package retrieval

// EncoderOf and RerankerOf give tests the networks of a database.
func EncoderOf(d *Database) *Encoder   { return d.encoder }
func RerankerOf(d *Database) *Reranker { return d.reranker }
