package oip

// Models that answer what LoadGen logs, of package serve.
const (
	TaskSuffix   = "-task"    // ends their names
	TaskResponse = "response" // is the name of their only output, UINT8[1 ?]
)
