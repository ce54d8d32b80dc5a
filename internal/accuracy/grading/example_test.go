package grading_test

import (
	"fmt"

	"github.com/mlperf-go/mlperf/internal/accuracy/grading"
)

func ExampleSameMath() {
	fmt.Println(grading.SameMath(`\frac{1}{2}`, "0.5"), grading.SameMath("2x+2", "2(x+1)"), grading.SameMath("2/4", "1/2"))
	// Output: true true false
}

func ExampleBoxed() {
	answer, ok := grading.Boxed(`Thus \boxed{1}, no: \boxed{\frac{1}{2}}.`)
	fmt.Println(answer, ok)
	// Output: \frac{1}{2} true
}

func ExampleLetter() {
	fmt.Printf("%c\n", grading.Letter("I take it back. ANSWER: C", 'D'))
	// Output: C
}

func ExampleFinalLetter() {
	said := "<|channel|>analysis<|message|>ANSWER: A?<|end|><|start|>assistant<|channel|>final<|message|>**C**<|return|>"
	fmt.Printf("%c %c\n", grading.FinalLetter(said, 'D'), grading.Letter(said, 'D'))
	// Output: C A
}

func ExampleInteger() {
	n, ok := grading.Integer(`it is \boxed{042}`)
	fmt.Println(n, ok)
	// Output: 42 true
}

func ExampleCode() {
	fmt.Println(grading.Code("First:\n```python\nprint(1)\n```\nor\n```python\nprint(2)\n```"))
	// Output: print(1)
}
