package synth

import "math/bits"

// A body is what a volume shows: air, the flesh of a trunk, and organs in it, as
// densities in Hounsfield units.
type body struct {
	trunk  organ
	organs []organ
	seed   uint64 // of the noise
}

// An organ is an ellipsoid, in parts of the volume's sides.
type organ struct {
	center, radii [3]float64
	density       int32
	label         uint8
}

// Densities, in Hounsfield units.
const (
	airDensity           = -1000
	fleshDensity         = 47
	lowOrgan, highOrgan  = 10, 240
	kidneyLow, kidneyTop = 150, 220
	tumourLow, tumourTop = 60, 110
)

// newBody returns the body of a seed. It has two kidneys, one of them with a tumour, and
// a dozen of other organs.
func newBody(seed uint64) body {
	r := newStream("body", seed)
	b := body{
		trunk: organ{center: [3]float64{0.5, 0.54, 0.5}, radii: [3]float64{2, 0.44, 0.52}, density: fleshDensity},
		seed:  deriveSeed("voxels", seed),
	}
	for range 12 {
		o := organ{density: int32(r.between(lowOrgan, highOrgan))}
		for axis := range o.center {
			o.center[axis], o.radii[axis] = r.uniform(), within(r.uniform(), 0.05, 0.25)
		}
		b.organs = append(b.organs, o)
	}
	for _, side := range []float64{0.28, 0.72} {
		kidney := organ{density: int32(r.between(kidneyLow, kidneyTop)), label: 1}
		kidney.center = [3]float64{within(r.uniform(), 0.35, 0.65), within(r.uniform(), 0.5, 0.7), side}
		kidney.radii = [3]float64{within(r.uniform(), 0.14, 0.22), within(r.uniform(), 0.09, 0.14), within(r.uniform(), 0.08, 0.12)}
		b.organs = append(b.organs, kidney)
	}
	tumour := b.organs[len(b.organs)-1-r.below(2)]
	tumour.density, tumour.label = int32(r.between(tumourLow, tumourTop)), 2
	for axis := range tumour.center {
		tumour.center[axis] += float64(within(r.uniform(), -0.7, 0.7) * tumour.radii[axis])
		tumour.radii[axis] = float64(tumour.radii[axis] * within(r.uniform(), 0.4, 0.8))
	}
	b.organs = append(b.organs, tumour)
	return b
}

// render returns the densities and labels of the voxels of a grid, the last axis running
// fastest.
func (b *body) render(shape [3]int) (image []int16, labels []uint8) {
	n := shape[0] * shape[1] * shape[2]
	image, labels = make([]int16, 0, n), make([]uint8, 0, n)
	noise := newStream("voxels", b.seed)
	var row organRow
	for z := range shape[0] {
		for y := range shape[1] {
			row.place(b, (float64(z)+0.5)/float64(shape[0]), (float64(y)+0.5)/float64(shape[1]))
			for x := range shape[2] {
				density, label := row.at((float64(x) + 0.5) / float64(shape[2]))
				image = append(image, int16(density+grain(noise)))
				labels = append(labels, label)
			}
		}
	}
	return image, labels
}

// grain is the noise of a voxel: 32 coin tosses, a deviation of 11 units.
func grain(noise *stream) int32 {
	return 4 * int32(bits.OnesCount32(uint32(noise.pcg.Uint64()))-16)
}

// An organRow has the organs that a row of voxels may meet.
type organRow struct {
	inTrunk float64 // what is left of 1 for the distance along the row
	trunk   organ
	organs  []organ
	left    []float64
}

func (r *organRow) place(b *body, z, y float64) {
	r.trunk = b.trunk
	r.inTrunk = b.trunk.left(z, y)
	r.organs, r.left = r.organs[:0], r.left[:0]
	for _, o := range b.organs {
		if left := o.left(z, y); left > 0 {
			r.organs, r.left = append(r.organs, o), append(r.left, left)
		}
	}
}

// left is 1 less the squared distance from the centre across the row.
func (o *organ) left(z, y float64) float64 {
	return 1 - square((z-o.center[0])/o.radii[0]) - square((y-o.center[1])/o.radii[1])
}

func square(v float64) float64 { return float64(v * v) }

// at returns what is at a place of the row: the last organ that is drawn there.
func (r *organRow) at(x float64) (density int32, label uint8) {
	if square((x-r.trunk.center[2])/r.trunk.radii[2]) >= r.inTrunk {
		return airDensity, 0
	}
	density = r.trunk.density
	for i := range r.organs {
		o := &r.organs[i]
		if square((x-o.center[2])/o.radii[2]) < r.left[i] {
			density, label = o.density, o.label
		}
	}
	return density, label
}
