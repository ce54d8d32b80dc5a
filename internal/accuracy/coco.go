package accuracy

// coco91 maps the 80 categories of COCO that have objects, in order, to their ids
// among the 91 of the original list. Models trained on 80 classes give label 1 for
// the first.
var coco91 = [80]uint8{
	1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 16, 17, 18, 19, 20, 21,
	22, 23, 24, 25, 27, 28, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44,
	46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63, 64, 65,
	67, 70, 72, 73, 74, 75, 76, 77, 78, 79, 80, 81, 82, 84, 85, 86, 87, 88, 89, 90,
}

// COCO80To91 returns the COCO category id (1 to 90) of a label from 1 to 80, or false.
func COCO80To91(label int) (int, bool) {
	if label < 1 || label > len(coco91) {
		return 0, false
	}
	return int(coco91[label-1]), true
}
