// Package waymo reads the Waymo Open Dataset in the form that MLPerf's PointPainting has it, kitti_format:
//
//	waymo_infos_val.pkl             a list of frames: calibration, sizes of pictures, objects
//	training/velodyne/1000000.bin   points of a frame: x, y, z, intensity, elongation and one more number, float32
//	training/image_0/1000000.jpg    the picture of the first of five cameras
//
//	d, err := waymo.Open(dir, 0)
//	frame := d.Frames[i]
//	points, err := d.ReadPoints(i)
//
// infos.go reads the list, frames.go the files of a frame. The list is a pickle, of which nothing is run.
//
// Left out: what the benchmark does not read, as the boxes that cameras see at once (cam_sync_annos) and the training set.
package waymo
