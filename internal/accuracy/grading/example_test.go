package grading_test

import (
	"fmt"

	"github.com/mlperf-go/mlperf/internal/accuracy/grading"
)

func ExampleSameMath() {
	fmt.Println(grading.SameMath(`\frac{1}{2}`, "0.5"), grading.SameMath("2x+2", "2(x+1)"), grading.SameMath("2/4", "1/2"))
	// Output: true true false
}

func ExampleFinalLetter() {
	said := "<|channel|>analysis<|message|>ANSWER: A?<|end|><|start|>assistant<|channel|>final<|message|>**C**<|return|>"
	fmt.Printf("%c %c\n", grading.FinalLetter(said, 'D'), grading.Letter(said, 'D'))
	// Output: C A
}
