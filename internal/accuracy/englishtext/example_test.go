package englishtext_test

import (
	"fmt"

	"github.com/mlperf-go/mlperf/internal/accuracy/englishtext"
)

func ExampleNormalize() {
	heard := englishtext.Normalize("um, Mr. Smith couldn't pay twenty-one pounds in nineteen eighty four")
	said := englishtext.Normalize("Mister Smith could not pay £21 in 1984.")
	fmt.Println(heard)
	fmt.Println(heard == said)
	// Output:
	// mister smith could not pay £21 in 1984
	// true
}
