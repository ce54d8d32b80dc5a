package prompts

import (
	"math/rand/v2"
	"strings"

	"github.com/mlperf-go/mlperf/internal/backend"
)

// common words. Most tokenizers have a token for each of the words.
var common = []string{"the", "a", "of", "and", "to", "in", "is", "it", "that", "for", "on", "with", "as", "was", "at", "by", "an", "be", "this", "from",
	"or", "had", "not", "are", "but", "have", "they", "which", "one", "you", "were", "all", "her", "she", "there", "would", "their", "we", "him", "been",
	"has", "when", "who", "will", "more", "no", "if", "out", "so", "said", "what", "up", "its", "about", "into", "than", "them", "can", "only", "other",
	"time", "new", "some", "could"}

// synthetic makes n prompts of as many common words each, which follow from the seed. Each is
// drawn by itself, so that no two begin alike and no server answers one from what it kept of
// another.
func synthetic(n, words int, seed uint64) []backend.Prompt {
	list := make([]backend.Prompt, n)
	for i := range list {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		var b strings.Builder
		for k := range words {
			if k > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(common[r.IntN(len(common))])
		}
		list[i].Text = b.String()
	}
	return list
}
