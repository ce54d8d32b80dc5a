// Package points has the benchmark on point clouds: PointPainting, which finds pedestrians, cyclists and cars around a vehicle.
//
// pointpainting.go is its row of the catalogue, workload.go joins model and data. A sample is five pictures and the points of a laser
// scanner, and goes this way (predictor.go):
//
//	painting.go  the first model says what each pixel shows; each point gets that of the pixels where the cameras see it
//	pillars.go   the points are sorted into upright pillars, which the second model reads
//	boxes.go     the boxes that it gives are suppressed and become those of a response
package points
