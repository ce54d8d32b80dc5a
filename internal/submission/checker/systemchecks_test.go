package checker

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// boxed is the smallest description of a system that passes, in the order of its fields.
var boxed = []string{
	`"division": "closed"`, `"submitter": "Org"`, `"status": "available"`, `"system_name": "Box"`, `"system_type": "edge"`,
	`"number_of_nodes": "2"`, `"host_processors_per_node": "1"`, `"host_processor_model_name": "CPU"`, `"host_processor_core_count": "4"`,
	`"host_processor_frequency": ""`, `"host_processor_caches": ""`, `"host_processor_interconnect": ""`,
	`"host_memory_capacity": "8 GB"`, `"host_storage_capacity": "1 TB"`, `"host_storage_type": "SSD"`, `"host_networking": "Ethernet"`,
	`"host_network_card_count": "1"`, `"host_networking_topology": "N/A"`, `"host_memory_configuration": "2x4 GB"`,
	`"accelerators_per_node": "0"`, `"accelerator_model_name": "N/A"`, `"accelerator_host_interconnect": "N/A"`,
	`"accelerator_frequency": "N/A"`, `"accelerator_on-chip_memories": "N/A"`, `"accelerator_memory_configuration": "N/A"`,
	`"accelerator_memory_capacity": "N/A"`, `"accelerator_interconnect": "N/A"`, `"accelerator_interconnect_topology": "N/A"`,
	`"system_type_detail": "board"`, `"cooling": "air"`, `"hw_notes": ""`, `"framework": "F 1"`, `"operating_system": "Linux"`, `"other_software_stack": "S"`, `"sw_notes": ""`,
}

// describes returns what is said of a description with some fields changed ("name: value") or
// taken out ("-name").
func describes(t *testing.T, division string, strict bool, changes ...string) []Finding {
	t.Helper()
	lines := append([]string{}, boxed...)
	for _, c := range changes {
		name, value, _ := strings.Cut(strings.TrimPrefix(c, "-"), ": ")
		kept := lines[:0]
		for _, line := range lines {
			if !strings.HasPrefix(line, fmt.Sprintf("%q: ", name)) {
				kept = append(kept, line)
			}
		}
		if lines = kept; !strings.HasPrefix(c, "-") {
			lines = append(lines, fmt.Sprintf("%q: %s", name, value))
		}
	}
	b := newBench(t, "v6.1", "resnet", "Offline")
	b.g.strict = strict
	b.write("/"+division+"/Org/systems/box.json", "{\n"+strings.Join(lines, ",\n")+"\n}\n")
	return b.g.describe(division, "Org", "box").findings
}

func TestWhatIsWrongWithADescriptionIsNamed(t *testing.T) {
	const (
		kinds  = "; want edge, datacenter, or both with a comma and no space"
		status = "; want available, preview or rdi"
	)
	for _, c := range []struct{ name, change, want string }{
		{"nothing", "sw_notes: \"\"", ""},
		{"a status in capitals", `status: "RDI"`, ""},
		{"an unknown status", `status: "retired"`, "system-status box.json: status is not a category; found retired" + status},
		{"no status", "-status", "system-status box.json: status is missing" + status + "|system-field box.json: field status is missing; want status"},
		{"a status that is a list", `status: ["available"]`, "system-status box.json: status is not a text; found ['available']" + status},
		{"both types", `system_type: "edge,datacenter"`, ""},
		{"a type with a space", `system_type: "edge, datacenter"`, "system-type box.json: system_type is not one of the rules'; found edge, datacenter" + kinds},
		{"a type in capitals", `system_type: "Edge"`, "system-type box.json: system_type is not one of the rules'; found Edge" + kinds},
		{"an empty type", `system_type: ""`, "system-type box.json: system_type is not one of the rules'" + kinds + "|system-empty box.json: field system_type is empty; want a text that is not empty"},
		{"a type that is a number", "system_type: 1", "system-type box.json: system_type is not a text; found 1" + kinds},
		{"another submitter", `submitter: "Organisation"`, "system-submitter box.json: submitter is not the name of the folder; found Organisation; want Org"},
		{"the submitter in other letters", `submitter: "oRG"`, ""},
		{"another division", `division: "open"`, "system-division box.json: division is not the name of the folder; found open; want closed"},
		{"a division in capitals", `division: "CLOSED"`, ""},
		{"a field that is missing", "-cooling", "system-field box.json: field cooling is missing; want cooling"},
		{"a field that may be empty but not missing", "-hw_notes", "system-field box.json: field hw_notes is missing; want hw_notes"},
		{"an empty field", `framework: ""`, "system-empty box.json: field framework is empty; want a text that is not empty"},
		{"a field that is null", "framework: null", "system-empty box.json: field framework is empty; found None; want a text that is not empty"},
		{"a field that is 0", "operating_system: 0", "system-empty box.json: field operating_system is empty; found 0; want a text that is not empty"},
		{"a field of spaces", `framework: " "`, ""},
		{"nodes in words", `number_of_nodes: "two"`, "system-number box.json: number_of_nodes: \"two\" is not a whole number; found two; want a whole number"},
		{"nodes of 1.5", `number_of_nodes: "1.5"`, "system-number box.json: number_of_nodes: \"1.5\" is not a whole number; found 1.5; want a whole number"},
		{"nodes as Python writes them", `number_of_nodes: " 1_000 "`, ""},
		{"nodes that are a number with a fraction", "number_of_nodes: 1.5", ""}, // which Python cuts
		{"accelerators not known", `accelerators_per_node: "N/A"`, "system-number box.json: accelerators_per_node: \"N/A\" is not a whole number; found N/A; want a whole number"},
		{"notes that are lists", `sw_notes: ["a"]`, "system-text box.json: hw_notes and sw_notes are not both texts; found  and ['a']; want texts"},
		{"hardware notes of a list alone", `hw_notes: ["a"]`, ""},
		{"half a pair", `system_name: "\ud800"`, "system-text box.json: system_name has half of a surrogate pair; want characters that can be written as UTF-8"},
		{"a pair", `system_name: "\ud83d\ude00"`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var want []string
			if c.want != "" {
				want = strings.Split(c.want, "|")
			}
			got := describes(t, "closed", false, c.change)
			wantSaidOf(t, got, "closed/Org/systems", want)
		})
	}
}

// wantSaidOf is wantSaid for findings of one place, in any order.
func wantSaidOf(t *testing.T, got []Finding, under string, want []string) {
	t.Helper()
	left := map[string]int{}
	for _, text := range want {
		left[text]++
	}
	for _, f := range got {
		if text := said(f, under); left[text] == 0 {
			t.Errorf("said, and not wanted: %s", text)
		} else {
			left[text]--
		}
	}
	for text, n := range left {
		if n > 0 {
			t.Errorf("not said: %s", text)
		}
	}
}

func TestANetworkDivisionIsThatOfNetworkedSystems(t *testing.T) {
	const rule = "system-network box.json: is_network "
	filled := []string{}
	for _, name := range []string{
		"is_network", "network_type", "network_media", "network_rate", "nic_loadgen", "number_nic_loadgen", "net_software_stack_loadgen",
		"network_protocol", "number_connections", "nic_sut", "number_nic_sut", "net_software_stack_sut", "network_topology",
	} {
		filled = append(filled, name+`: "x"`)
	}
	with := func(changes ...string) []string { return slices.Concat(filled, changes) }
	for _, c := range []struct {
		name, division string
		changes        []string
		want           string
	}{
		{"closed says nothing", "closed", nil, ""},
		{"closed says null", "closed", []string{"is_network: null"}, ""},
		{"closed says false in a text, and so needs the fields", "closed", with(`is_network: "false"`), ""},
		{"closed says true", "closed", with(`is_network: "TRUE"`), rule + "does not fit the division closed; found TRUE; want no such field"},
		{"closed says false without quotes", "closed", []string{"is_network: false"}, rule + `is not a text; found False; want "true", or no such field`},
		{"open may be either", "open", with(`is_network: "true"`), ""},
		{"network says true", "network", with(`is_network: "True"`), ""},
		{"network says nothing", "network", nil, rule + `does not fit the division network; found None; want "true"`},
		{"network says yes", "network", with(`is_network: "yes"`), rule + `does not fit the division network; found yes; want "true"`},
		{"network without a field", "network", with(`is_network: "true"`, "-nic_sut"), "system-field box.json: field nic_sut is missing; want nic_sut"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := describes(t, c.division, false, append([]string{fmt.Sprintf("division: %q", c.division)}, c.changes...)...)
			var want []string
			if c.want != "" {
				want = []string{c.want}
			}
			wantSaidOf(t, got, c.division+"/Org/systems", want)
		})
	}
}

func TestStrictAsksMoreOfADescription(t *testing.T) {
	for _, c := range []struct{ change, want string }{
		{`system_name: "a \"b\""`, `system-quote box.json: system_name has a quotation mark or a line break; found a "b"; want plain text`},
		{`sw_notes: "two\nlines"`, "system-quote box.json: sw_notes has a quotation mark or a line break; found two\nlines; want plain text"},
		{`host_processors_per_node: "one"`, "system-number box.json: host_processors_per_node: \"one\" is not a whole number; found one; want a whole number, which the final report needs"},
		{`host_processors_per_node: 2`, ""},
	} {
		if got := describes(t, "closed", false, c.change); len(got) > 0 {
			t.Errorf("%s: reference says %v", c.change, got)
		}
		var want []string
		if c.want != "" {
			want = []string{c.want}
		}
		wantSaidOf(t, describes(t, "closed", true, c.change), "closed/Org/systems", want)
	}
	got := describes(t, "closed", true, `cooling: "FILL IN: air"`)
	if len(got) != 1 || got[0].Rule != "system-placeholder" || got[0].Found != "FILL IN: air" || got[0].Wanted == "" {
		t.Errorf("of a placeholder: %v", got)
	}
}

func TestDescriptionsThatCannotBeRead(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"cut":               {`{"status": "available"`, `system-json box.json:1: cannot be read: byte 22: want "," or "}"`},
		"cut further down":  {"{\n\n\"status\": ", "system-json box.json:3: cannot be read: byte 13: want a value"},
		"empty":             {"", "system-json box.json:1: cannot be read: byte 0: want a value"},
		"with a mark":       {"\ufeff{}", "system-json box.json:1: cannot be read: byte 0: want a value"},
		"a list":            {"[1]", "system-json box.json: is not an object; found [1]"},
		"not UTF-8":         {"{\"a\": \"\xff\"}", "system-json box.json: cannot be read: not UTF-8"},
		"two values":        {"{} {}", "system-json box.json:1: cannot be read: byte 3: want nothing after the value"},
		"a comma at an end": {`{"a": 1,}`, "system-json box.json:1: cannot be read: byte 8: want a name in quotes"},
	} {
		b := newBench(t, "v6.1", "resnet", "Offline")
		b.write("/closed/Org/systems/box.json", c.text)
		got := b.g.describe("closed", "Org", "box")
		if wantSaid(t, got.findings, "closed/Org/systems", c.want); got.dict != nil {
			t.Errorf("%s: there is a description", name)
		}
	}
	b := newBench(t, "v6.1", "resnet", "Offline")
	wantSaid(t, b.g.describe("closed", "Org", "box").findings, "closed/Org/systems", "system-missing box.json: the system has no description; want a JSON file")
}

// Only what ends the official checker counts where a system has no results.
func TestWhatIsFatalWithoutResults(t *testing.T) {
	d := &description{}
	for _, rule := range []string{"system-missing", "system-json", "system-nameplate", "system-type", "system-status"} {
		d.fail(rule, problem{path: "p"})
	}
	for hasBenchmarks, want := range map[bool]int{false: 3, true: 4} {
		if got := d.fatal(hasBenchmarks); len(got) != want {
			t.Errorf("with benchmarks %v: %v, want %d", hasBenchmarks, got, want)
		}
	}
}

func TestHalvesOfPairsAreFound(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "plain": false, "\ud7ff": false, "\ue000": false, "😀": false, "\xed\xa0\x80": true, "a\xed\xbf\xbfb": true, "x\xed": false,
	} {
		if got := hasSurrogate(text); got != want {
			t.Errorf("hasSurrogate(%q) = %v", text, got)
		}
	}
}

func TestBoxedIsWhatTheOfficialCheckerAsksFor(t *testing.T) {
	var d map[string]any
	if err := json.Unmarshal([]byte("{"+strings.Join(boxed, ",")+"}"), &d); err != nil {
		t.Fatal(err)
	}
	for name := range d { // each is needed
		if got := describes(t, "closed", false, "-"+name); len(got) == 0 {
			t.Errorf("without %s nothing is said", name)
		}
	}
}
