package oip

// Models that answer what LoadGen logs, of package serve.
const (
	TaskSuffix   = "-task"    // ends their names
	TaskResponse = "response" // is the name of their only output, UINT8[1 ?]
)

// PartName is what package serve calls one of the files of a model that has several.
func PartName(model, role string) string { return model + "-" + role }
