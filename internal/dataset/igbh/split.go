package igbh

import "gonum.org/v1/gonum/mathext/prng"

// The split of tools/split_seeds.py: of the papers with labels 60 % are for training and half a percent for validation.
const (
	splitSeed     = 42
	trainingShare = 0.6
	validShare    = 0.005

	fullPapers   = 269346174 // of the full size
	fullLabelled = 157675969 // that have a label of 2983 classes: the first ones
)

// labelled is how many papers, the first ones, have labels.
func labelled(papers int64) int64 {
	if papers == fullPapers {
		return fullLabelled
	}
	return papers
}

// Validation returns the papers of the validation set among so many with labels, as split_seeds.py draws them.
func Validation(papers int64) []int64 {
	first := int(trainingShare * float64(papers))
	return indices(Permutation(int(papers), first+int(validShare*float64(papers)))[first:])
}

// Training returns the papers of the training set.
func Training(papers int64) []int64 {
	n := int(trainingShare * float64(papers))
	return indices(Permutation(int(papers), n)[:n])
}

func indices(list []uint32) []int64 {
	wide := make([]int64, len(list))
	for i, v := range list {
		wide[i] = int64(v)
	}
	return wide
}

// Permutation returns the first numbers of torch.randperm(n) after torch.manual_seed(42), for n below 2³²: ATen's
// randperm_cpu swaps each number with a later one, which a Mersenne Twister chooses.
func Permutation(n, first int) []uint32 {
	mt := prng.NewMT19937()
	mt.Seed(splitSeed)
	list := make([]uint32, n)
	for i := range list {
		list[i] = uint32(i)
	}
	for i := range min(first, n-1) {
		j := i + int(mt.Uint32())%(n-i)
		list[i], list[j] = list[j], list[i]
	}
	return list[:min(first, n)]
}
