package backend

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Neither account is changed.
func TestAccountSince(t *testing.T) {
	of := func(n int64) Account {
		u, d := uint64(n), time.Duration(n)
		return Account{
			Endpoints: []string{"a", "b"}, Down: []string{"b: gone"}, Requests: []int64{10 * n, 11 * n}, Retried: 2 * n, RoundTrip: Sum{3 * u, 4 * d},
			Connections: 5 * n, Sent: 6 * n, Received: 7 * n,
			Server: &ServerCount{Inferences: 12 * u, Executions: 13 * u, CacheHits: 14 * u, Queue: Sum{15 * u, 16 * d}, Compute: Sum{17 * u, 18 * d}},
		}
	}
	before, after := of(100), of(107)
	got, restarted := after.Since(before)
	if diff := cmp.Diff(of(7), got); diff != "" || restarted {
		t.Errorf("restarted %v (-want +got):\n%s", restarted, diff)
	}
	if diff := cmp.Diff(of(107), after) + cmp.Diff(of(100), before); diff != "" {
		t.Errorf("the accounts are others now:\n%s", diff)
	}
	if got, restarted := after.Since(after); restarted || *got.Server != (ServerCount{}) {
		t.Errorf("nothing is added: %+v, restarted %v", got.Server, restarted)
	}
}

func TestSmallerCountMeansARestart(t *testing.T) {
	full := ServerCount{Inferences: 9, Executions: 9, CacheHits: 9, Queue: Sum{Count: 9}, Compute: Sum{Count: 9}}
	for name, fall := range map[string]func(c *ServerCount){
		"inferences": func(c *ServerCount) { c.Inferences-- }, "executions": func(c *ServerCount) { c.Executions-- }, "cache hits": func(c *ServerCount) { c.CacheHits-- },
		"requests that waited": func(c *ServerCount) { c.Queue.Count-- }, "requests that were computed": func(c *ServerCount) { c.Compute.Count-- },
	} {
		now := full
		fall(&now)
		got, restarted := Account{Server: &now}.Since(Account{Server: &full})
		if !restarted || *got.Server != now {
			t.Errorf("fewer %s: restarted %v, %+v, want what it counts now", name, restarted, *got.Server)
		}
	}
	for name, pair := range map[string][2]Account{"told nothing before": {{Server: &full}, {}}, "tells nothing now": {{}, {Server: &full}}} {
		if got, restarted := pair[0].Since(pair[1]); restarted || got.Server != nil {
			t.Errorf("a server that %s: %+v, restarted %v", name, got.Server, restarted)
		}
	}
}

func TestAccountSinceWithOtherEndpoints(t *testing.T) {
	for _, c := range []struct{ before, after, want []int64 }{
		{[]int64{4}, []int64{6, 3}, []int64{2, 3}}, {[]int64{4, 9}, []int64{6}, []int64{2}}, {nil, []int64{6}, []int64{6}},
	} {
		if got, _ := (Account{Requests: c.after}).Since(Account{Requests: c.before}); !cmp.Equal(got.Requests, c.want) {
			t.Errorf("%v since %v is %v, want %v", c.after, c.before, got.Requests, c.want)
		}
	}
}
