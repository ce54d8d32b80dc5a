package backend

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestAccountsAreCompared(t *testing.T) {
	before := Account{Requests: []int64{5, 7}, Sent: 100, RoundTrip: Sum{12, 12 * time.Millisecond}, Server: &ServerCount{Inferences: 12, Executions: 6, Queue: Sum{12, time.Second}}}
	after := Account{Requests: []int64{6, 9}, Sent: 130, RoundTrip: Sum{15, 18 * time.Millisecond}, Server: &ServerCount{Inferences: 15, Executions: 8, Queue: Sum{15, 4 * time.Second}}}
	got, restarted := after.Since(before)
	want := Account{Requests: []int64{1, 2}, Sent: 30, RoundTrip: Sum{3, 6 * time.Millisecond}, Server: &ServerCount{Inferences: 3, Executions: 2, Queue: Sum{3, 3 * time.Second}}}
	if diff := cmp.Diff(want, got); diff != "" || restarted {
		t.Errorf("restarted %v (-want +got):\n%s", restarted, diff)
	}
	if got.RoundTrip.Mean() != 2*time.Millisecond {
		t.Errorf("the mean is %v", got.RoundTrip.Mean())
	}
	if _, restarted := before.Since(after); !restarted {
		t.Error("a server that counts less than before is not noticed")
	}
	after.Server = nil
	if got, _ := after.Since(before); got.Server != nil {
		t.Error("a server that does not tell has counted something")
	}
}
