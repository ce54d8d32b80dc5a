package report

// Remote says what went to servers during the traffic, and what they counted.
type Remote struct {
	Endpoints     []Endpoint   `json:"endpoints"`
	Requests      uint64       `json:"requests"`           // that were answered
	RoundTripNS   int64        `json:"mean_round_trip_ns"` // of these, as seen from here
	Retried       int64        `json:"retried_requests,omitempty"`
	Connections   int64        `json:"new_connections"`
	SentBytes     int64        `json:"sent_bytes"` // on the wire, as are those that were received
	ReceivedBytes int64        `json:"received_bytes"`
	Server        *RemoteCount `json:"server_statistics,omitempty"` // absent: the servers tell none
}

// An Endpoint is a server.
type Endpoint struct {
	URL      string `json:"url"`
	Requests int64  `json:"requests"` // that were sent to it
}

// RemoteCount is what the servers counted of the model during the traffic, together.
type RemoteCount struct {
	Inferences uint64 `json:"inferences"` // samples
	Executions uint64 `json:"executions"` // runs of the model
	CacheHits  uint64 `json:"cache_hits"`
	QueueNS    int64  `json:"mean_queue_ns"`
	ComputeNS  int64  `json:"mean_compute_ns"`
}
