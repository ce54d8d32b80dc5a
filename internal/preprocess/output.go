package preprocess

// An output is where the rows of an image go.
type output[T element] struct {
	dst    []T
	size   int
	planar bool
	order  [3]int // as channelOrder says; for bytes only
}

// plane returns the place of row y in the plane of channel c.
func (o *output[T]) plane(c, y int) []T {
	return o.dst[(c*o.size+y)*o.size:][:o.size]
}

func (o *output[T]) bytes(y int, line []byte, tab *tables[T]) {
	a, b, c := &tab[0], &tab[1], &tab[2]
	i, j, k := o.order[0], o.order[1], o.order[2]
	if o.planar {
		p, q, r := o.plane(0, y), o.plane(1, y), o.plane(2, y)
		for x := range p {
			pixel := line[3*x:][:3]
			p[x], q[x], r[x] = a[pixel[i]], b[pixel[j]], c[pixel[k]]
		}
		return
	}
	row := o.dst[3*y*o.size:][:3*o.size]
	for x := 0; x < len(row); x += 3 {
		pixel, to := line[x:][:3], row[x:][:3]
		to[0], to[1], to[2] = a[pixel[i]], b[pixel[j]], c[pixel[k]]
	}
}

func (o *output[T]) floats(y int, line []float32) {
	if o.planar {
		p, q, r := o.plane(0, y), o.plane(1, y), o.plane(2, y)
		for x := range p {
			pixel := line[3*x:][:3]
			p[x], q[x], r[x] = T(pixel[0]), T(pixel[1]), T(pixel[2])
		}
		return
	}
	row := o.dst[3*y*o.size:][:3*o.size]
	for i, v := range line[:len(row)] {
		row[i] = T(v)
	}
}

// quotients is floats for a planar output, with a division on the way.
func (o *output[T]) quotients(y int, line []float32, by [3]float32) {
	p, q, r := o.plane(0, y), o.plane(1, y), o.plane(2, y)
	for x := range p {
		pixel := line[3*x:][:3]
		p[x], q[x], r[x] = T(pixel[0]/by[0]), T(pixel[1]/by[1]), T(pixel[2]/by[2])
	}
}
