// Package clock reads the time as finely as the system can. On Windows time.Now steps by 0.5 to 16 ms (golang/go issue 67066), longer
// than many answers take, so what is measured there is read from the performance counter.
package clock
