// Package retrieval finds passages.
package retrieval
