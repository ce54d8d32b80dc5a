package description

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/machine"
	"github.com/mlperf-go/mlperf/internal/submission/checker"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

func TestPortsAreCountedBySpeedAndKind(t *testing.T) {
	const none = "FILL IN: e.g. 2 x 100 Gb/s Ethernet"
	for _, c := range []struct {
		name string
		nics []machine.NIC
		want string
	}{
		{"none", nil, none},
		{"without cables", []machine.NIC{{Kind: "Ethernet"}, {Kind: "InfiniBand"}}, none},
		{"of no kind", []machine.NIC{{Mbit: 1000}}, "1 x 1 Gb/s Ethernet"},
		{"InfiniBand", []machine.NIC{{Mbit: 400000, Kind: "InfiniBand"}, {Mbit: 400000, Kind: "InfiniBand"}}, "2 x 400 Gb/s InfiniBand"},
		{"both", []machine.NIC{{Mbit: 100000, Kind: "InfiniBand"}, {Mbit: 100000, Kind: "Ethernet"}, {Mbit: 25000}, {Kind: "802.11"}}, "1 x 25 Gb/s Ethernet, 1 x 100 Gb/s Ethernet, 1 x 100 Gb/s InfiniBand"},
		{"slow ones", []machine.NIC{{Mbit: 100}, {Mbit: 10}}, "1 x 0.01 Gb/s Ethernet, 1 x 0.1 Gb/s Ethernet"},
	} {
		d := describe(t, machine.Machine{}, machine.Inventory{NICs: c.nics}, Request{})
		if d["host_networking"] != c.want {
			t.Errorf("%s: %q, want %q", c.name, d["host_networking"], c.want)
		}
		if c.want != none && d["host_network_card_count"] != c.want {
			t.Errorf("%s: cards %q, want %q", c.name, d["host_network_card_count"], c.want)
		}
	}
}

func TestProtocolsAreThoseOfTheEndpoints(t *testing.T) {
	const (
		plain, secure = "TCP, HTTP/1.1 with binary tensors (Open Inference Protocol)", "TCP, TLS, HTTP/1.1 with binary tensors (Open Inference Protocol)"
		grpc, grpcs   = "TCP, gRPC (Open Inference Protocol)", "TCP, TLS, gRPC (Open Inference Protocol)"
	)
	for _, c := range []struct {
		endpoints []string
		want      string
	}{
		{[]string{"http://a:8000"}, plain}, {[]string{"https://a"}, secure}, {[]string{"grpc://a:1"}, grpc}, {[]string{"grpcs://a:1"}, grpcs},
		{[]string{"dns:///a:1"}, grpc}, {[]string{"dns+grpcs://a"}, grpcs}, {[]string{"dns+http://a"}, plain},
		{[]string{"http://a", "http://b", "grpc://c"}, plain + "; " + grpc}, {[]string{"unix:/run/a.sock"}, ""}, {nil, ""}, {[]string{""}, ""},
	} {
		if got := protocols(c.endpoints); got != c.want {
			t.Errorf("protocols(%q) = %q, want %q", c.endpoints, got, c.want)
		}
	}
}

func TestAnEndOfANetworkIsDescribedAlone(t *testing.T) {
	m, i := board()
	for end, other := range map[string]string{SUT: LoadGen, LoadGen: SUT, "": LoadGen} {
		d := describe(t, m, i, Request{Division: "network", End: end})
		own := end
		if own == "" {
			own = SUT
		}
		if d["number_nic_"+own] != "3" || !strings.HasPrefix(d["net_software_stack_"+own], "Debian 12, kernel 6.1") || !checker.HasPlaceholder(d["number_nic_"+other]) || !checker.HasPlaceholder(d["net_software_stack_"+other]) {
			t.Errorf("at the end %q: %v", end, d)
		}
	}
	if d := describe(t, machine.Machine{}, machine.Inventory{}, Request{Division: "network"}); d["is_network"] != "true" || !checker.HasPlaceholder(d["nic_sut"]) || !checker.HasPlaceholder(d["number_connections"]) {
		t.Errorf("of a machine that shows nothing: %v", d)
	}
}

// The values of a request are stronger than those of before, and those than the machine's.
func TestWhoSaysWhatHoldsMost(t *testing.T) {
	m, i := board()
	for _, c := range []struct {
		name  string
		q     Request
		field string
		want  string
	}{
		{"the machine", Request{}, "operating_system", "Debian 12"},
		{"before", Request{Old: Description{"operating_system": "Debian 11"}}, "operating_system", "Debian 11"},
		{"a placeholder of before", Request{Old: Description{"operating_system": "FILL IN: it"}}, "operating_system", "Debian 12"},
		{"nothing of before", Request{Old: Description{"operating_system": ""}}, "operating_system", "Debian 12"},
		{"given", Request{Old: Description{"operating_system": "Debian 11"}, Values: map[string]string{"operating_system": "Debian 13"}}, "operating_system", "Debian 13"},
		{"given as nothing", Request{Values: map[string]string{"hw_notes": ""}}, "hw_notes", ""},
		{"a name of the request", Request{Name: "Box", Old: Description{"system_name": "Old"}}, "system_name", "Box"},
		{"no name of the request", Request{Old: Description{"system_name": "Old"}}, "system_name", "Old"},
		{"a name that was given", Request{Name: "Box", Values: map[string]string{"system_name": "Given"}}, "system_name", "Given"},
		{"an own field of before that is empty", Request{Old: Description{"own": ""}}, "own", ""},
	} {
		d := describe(t, m, i, c.q)
		if got, there := d[c.field]; got != c.want || !there {
			t.Errorf("%s: %s is %q (there: %v), want %q", c.name, c.field, got, there, c.want)
		}
	}
}

func TestWhatIsRefusedSaysTheChoices(t *testing.T) {
	for want, q := range map[string]Request{
		`division is "Closed", want one of closed open network`:                                          {Division: "Closed"},
		`status is "soon", want one of available preview rdi`:                                            {Status: "soon"},
		`system_type is "edge, datacenter", want one of edge datacenter datacenter,edge edge,datacenter`: {Type: "edge, datacenter"},
		`network_end is "server", want one of sut loadgen`:                                               {End: "server"},
	} {
		_, err := Of(machine.Machine{}, machine.Inventory{}, q)
		var of *userinput.Error
		if !errors.As(err, &of) || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", q, err, want)
		}
	}
	_, err := Of(machine.Machine{}, machine.Inventory{}, Request{Values: map[string]string{"colour": "red"}})
	if want := `a system has no field "colour"; it has division, submitter, `; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
}

func TestUnfinishedFieldsAreListedByName(t *testing.T) {
	d := Description{"b": "FILL IN: x", "a": "half FILL IN", "c": "REFILL IN", "d": ""}
	if got, want := d.Unfinished(), []string{"a", "b"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := (Description{}).Unfinished(); got == nil || len(got) != 0 {
		t.Errorf("of nothing: %#v, want an empty list", got)
	}
}

func TestADescriptionIsWrittenInTheOrderOfItsNames(t *testing.T) {
	d := Description{"b": "<&>", "a": "é \"quoted\"", "c": "two\nlines"}
	text, err := d.JSON()
	const want = "{\n  \"a\": \"é \\\"quoted\\\"\",\n  \"b\": \"<&>\",\n  \"c\": \"two\\nlines\"\n}\n"
	if err != nil || string(text) != want {
		t.Errorf("%s, %v, want\n%s", text, err, want)
	}
	path := filepath.Join(t.TempDir(), "system.json")
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	if back, err := Read(path); err != nil || len(back) != 3 || back["c"] != d["c"] {
		t.Errorf("read back %v, %v", back, err)
	}
	var plain map[string]string
	if err := json.Unmarshal(text, &plain); err != nil || plain["a"] != d["a"] {
		t.Errorf("any reader has %v, %v", plain, err)
	}
}

func TestFilesThatAreNoDescriptionAreRefused(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]string{
		"null": "is null, want an object", "5": "cannot unmarshal number", `"x"`: "cannot unmarshal string", "": "unexpected end of JSON input", "{}{}": "after top-level value",
		`{"a": 1e999}`: "", `{"a": {"b": 1}}`: "", `{"a": "x", "a": "y"}`: "",
	} {
		path := filepath.Join(dir, "s.json")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		d, err := Read(path)
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), path+": ") || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, %v, want %q", text, d, err, want)
		}
	}
	if d, err := parse([]byte(`{"a": "x", "a": "y", "n": 1.50}`)); err != nil || d["a"] != "y" || d["n"] != "1.50" {
		t.Errorf("%v, %v, want the last of two, and numbers as they were written", d, err)
	}
	large := filepath.Join(dir, "large.json")
	if err := os.WriteFile(large, []byte(strings.Repeat(" ", largest+1)), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(large); err == nil || !strings.Contains(err.Error(), "large.json") {
		t.Errorf("a file that is too long: %v", err)
	}
}

// Every field has a value or says what belongs into it, whatever the division.
func TestEveryFieldSaysSomething(t *testing.T) {
	m, i := board()
	for _, division := range []string{"", "closed", "open", "network"} {
		for _, power := range []bool{false, true} {
			d := describe(t, m, i, Request{Division: division, Power: power})
			want := len(checker.SystemFields())
			if division == "network" {
				want += len(checker.NetworkFields())
			}
			if power {
				want += len(checker.PowerFields())
			}
			if len(d) != want {
				t.Errorf("%s, power %v: %d fields, want %d", division, power, len(d), want)
			}
			for _, f := range checker.SystemFields() {
				if f.Filled && d[f.Name] == "" {
					t.Errorf("%s says nothing", f.Name)
				}
			}
		}
	}
}

func ExampleDescription_Unfinished() {
	d, err := Of(machine.Machine{OS: "Debian 12"}, machine.Inventory{}, Request{Values: map[string]string{"cooling": "air"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(d["operating_system"], d["cooling"], slices.Contains(d.Unfinished(), "cooling"), slices.Contains(d.Unfinished(), "host_memory_capacity"))
	// Output: Debian 12 air false true
}
