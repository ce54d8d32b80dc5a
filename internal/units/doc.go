// Package units writes durations, rates, counts, shares and bytes for people. Whatever prints a number takes it from here, so that
// a number reads the same on the screen, in tables, in explanations and on pages:
//
//	units.Duration(15*time.Millisecond)    // 15 ms
//	units.Text(23090.4, "samples/s")       // 23,090 samples/s
//	units.Text(15060, "ms")                // 15.06 s
//	units.Count(24576, "query")            // 24,576 queries
//
// The rules:
//   - A number has four significant digits, or all of those before the point if these are more, without zeros at the end. It has
//     no exponent, and commas between thousands from 1,000 on.
//   - A duration has the largest of ns, µs, ms and s of which it is at least one. From two minutes on it has whole seconds
//     (2 min 5 s), from two hours on whole minutes (2 h 5 min), which are three digits or more. A rounded number takes the step
//     to the next unit: 999.96 µs is 1 ms.
//   - A score has six digits, because the targets of rules differ from scores in the fourth.
//   - A share never rounds up to 100 %, which means all.
//   - Numbers that programs or conf files read (Exact, Rounded) have a point and digits only.
//   - What is no number, or infinite, is –.
//
// The text of a number that must show why a rule is broken may need all digits: ExactDuration and Exact have them.
package units
