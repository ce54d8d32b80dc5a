package jpeg

// A strip is a row of MCUs, as samples of brightness and of two differences of colour.
// What lies beyond the picture repeats its last column and row of samples, as libjpeg has it
// (jcprepct.c): of coarse samples those of the last rows of pixels, not of the last one alone.
type strip struct {
	full   [3][]uint8 // a sample for each pixel
	coarse [3][]uint8 // fewer samples of colour
	planes [3][]uint8 // which of them go into the file
	stride [3]int
}

// resize makes room for a width and height in pixels and colour that is coarser by the
// factors.
func (s *strip) resize(components, width, height, across, down int) {
	for i := range components {
		s.full[i] = resized(s.full[i], width*height)
		s.planes[i], s.stride[i] = s.full[i], width
		if i > 0 && across*down > 1 {
			s.coarse[i] = resized(s.coarse[i], width*height/(across*down))
			s.planes[i], s.stride[i] = s.coarse[i], width/across
		}
	}
}

// fill converts the rows of the picture that begin at top.
func (e *Encoder) fill(top int) {
	s := &e.strip
	width := s.stride[0]
	for y := range 8 * e.down {
		row := e.img.Row(min(top+y, e.img.Height-1))
		from, to := y*width, (y+1)*width
		if e.components == 1 {
			grayRow(s.full[0][from:to], row)
			continue
		}
		colourRow(s.full[0][from:to], s.full[1][from:to], s.full[2][from:to], row)
	}
	within := min((e.img.Height-top+e.down-1)/e.down, 8) // rows of colour that show something
	for i := 1; i < e.components && e.across*e.down > 1; i++ {
		average(s.coarse[i], s.full[i], width, e.across, e.down)
		stride := s.stride[i]
		for y := within; y < 8; y++ {
			copy(s.coarse[i][y*stride:][:stride], s.coarse[i][(within-1)*stride:])
		}
	}
}

// The conversion of JFIF 1.02 §7, in units of 2⁻¹⁶.
const (
	redLight, greenLight, blueLight = 19595, 38470, 7471    // 0.299, 0.587, 0.114
	redCb, greenCb, half            = -11059, -21709, 32768 // -0.168736, -0.331264, 0.5
	greenCr, blueCr                 = -27439, -5329         // -0.418688, -0.081312
	lightRound                      = 1 << 15
	colourRound                     = 128<<16 + 1<<15 - 1 // less by one, so that 255.5 stays a byte
)

func grayRow(light, row []uint8) {
	n := len(row) / 3
	for x := range n {
		p := row[3*x : 3*x+3]
		light[x] = uint8((redLight*int32(p[0]) + greenLight*int32(p[1]) + blueLight*int32(p[2]) + lightRound) >> 16)
	}
	repeatLast(light, n)
}

func colourRow(light, blue, red, row []uint8) {
	n := len(row) / 3
	for x := range n {
		p := row[3*x : 3*x+3]
		r, g, b := int32(p[0]), int32(p[1]), int32(p[2])
		light[x] = uint8((redLight*r + greenLight*g + blueLight*b + lightRound) >> 16)
		blue[x] = uint8((redCb*r + greenCb*g + half*b + colourRound) >> 16)
		red[x] = uint8((half*r + greenCr*g + blueCr*b + colourRound) >> 16)
	}
	repeatLast(light, n)
	repeatLast(blue, n)
	repeatLast(red, n)
}

func repeatLast(row []uint8, n int) {
	for x := n; x < len(row); x++ {
		row[x] = row[n-1]
	}
}

// average makes one sample of across·down. What lies between two numbers goes up and down in
// turns, so that colours do not get brighter on the whole (h2v1_downsample and h2v2_downsample in
// libjpeg's jcsample.c; of two rows alone it goes up). Width is that of from.
func average(to, from []uint8, width, across, down int) {
	for len(from) > 0 {
		upper, lower := from[:width], from[(down-1)*width:down*width]
		switch {
		case across == 1:
			for x := range upper {
				to[x] = uint8((uint32(upper[x]) + uint32(lower[x]) + 1) / 2)
			}
		case down == 1:
			for x := range width / 2 {
				to[x] = uint8((uint32(upper[2*x]) + uint32(upper[2*x+1]) + uint32(x&1)) / 2)
			}
		default:
			for x := range width / 2 {
				sum := uint32(upper[2*x]) + uint32(upper[2*x+1]) + uint32(lower[2*x]) + uint32(lower[2*x+1])
				to[x] = uint8((sum + 1 + uint32(x&1)) / 4)
			}
		}
		to, from = to[width/across:], from[down*width:]
	}
}
