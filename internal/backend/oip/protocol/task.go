package protocol

// Models that answer what LoadGen logs, of package serve.
const (
	TaskSuffix   = "-task"    // ends their names
	TaskResponse = "response" // is the name of their first output, UINT8[1 ?]
	TaskTokens   = "tokens"   // is that of their second, INT32[1], where what is written is counted and the response does not show it
)

// PartName is what package serve calls one of the files of a model that has several.
func PartName(model, role string) string { return model + "-" + role }
