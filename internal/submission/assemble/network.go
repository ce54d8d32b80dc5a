package assemble

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/machine"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/submission/checker"
)

// network writes how LoadGen's machine and the system under test are connected: a diagram, the layers of the network, both
// ends, and what is sent (inference_rules, Network division). Or it takes the user's file.
func (b *builder) network(ctx context.Context, results []*result) error {
	path := checker.NetworkDocument(b.home(), b.System)
	switch {
	case b.Division != "network":
		return nil
	case b.Network != "":
		return b.copy(ctx, b.Network, path)
	case b.keeps(path):
		return nil
	}
	var nodes, servers []string
	var run *report.Results
	for _, r := range results {
		name, _ := r.performance.log.Text("sut_name")
		nodes = append(nodes, checker.NetworkNodes(name)...)
		if run = cmp.Or(run, r.performance.results); r.performance.results == nil || r.performance.results.Remote == nil {
			continue
		}
		for _, e := range r.performance.results.Remote.Endpoints {
			servers = append(servers, e.URL)
		}
	}
	for _, list := range []*[]string{&nodes, &servers} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	if len(nodes) == 0 {
		nodes = []string{checker.Placeholder("the nodes of the system under test")}
	}
	d := b.Description
	program, lon := checker.Placeholder("the QDL"), checker.Placeholder("processor, memory, operating system and software of LoadGen's machine")
	sent := checker.Placeholder("what the QDL sends for a query, and through which interface of the session layer")
	if run != nil {
		program, lon = "LoadGen, QSL and QDL: "+run.Program, machineText(run.System)
	}
	if len(servers) > 0 {
		sent = "The QDL is `mlperf run --division network --backend oip`. Each sample is one inference request of the Open Inference " +
			"Protocol (KServe v2) to the " +
			"model with the end `-task`: the tensors as the QSL loaded them, in their order, without an index. The answer has the bytes that LoadGen logs. " +
			"The QDL does not batch, pad, convert, cache, compress or repeat. Before a test it asks each node for its name.\n\nAddresses: " +
			addresses(servers)
	}

	var w strings.Builder
	fmt.Fprintf(&w, "# Network of %s\n\n## Diagram\n\n```mermaid\nflowchart LR\n", b.System)
	label := func(parts ...string) string {
		return `["` + strings.ReplaceAll(strings.Join(parts, "<br>"), `"`, "'") + `"]`
	}
	cards := func(end string) string { return d["number_nic_"+end] + " x " + d["nic_"+end] }
	fmt.Fprintf(&w, "  subgraph loadgen [\"LoadGen node\"]\n    qdl%s\n  end\n", label(program, cards("loadgen")))
	fmt.Fprintf(&w, "  fabric%s\n  subgraph sut [\"System under test: %s\"]\n",
		label(d["network_type"]+", "+d["network_media"]+", "+d["network_rate"], d["network_topology"]), b.System)
	for i, name := range nodes {
		fmt.Fprintf(&w, "    node%d%s\n", i, label(name, cards("sut")))
	}
	w.WriteString("  end\n  qdl <--> fabric\n")
	for i := range nodes {
		fmt.Fprintf(&w, "  fabric <--> node%d\n", i)
	}
	w.WriteString("```\n\nQueries go from left to right, responses back. All that is right of the LoadGen node is the system under " +
		"test.\n\n## Layers\n\n| layer | |\n|---|---|\n")
	for _, row := range [][2]string{
		{"1, physical", d["network_media"] + ", " + d["network_rate"]}, {"2, data link", d["network_type"]},
		{"3 and 4, network and transport; protocols above", d["network_protocol"]}, {"connections", d["number_connections"]},
		{"topology", d["network_topology"]},
	} {
		fmt.Fprintf(&w, "| %s | %s |\n", row[0], strings.ReplaceAll(row[1], "|", "/"))
	}
	fmt.Fprintf(&w, "\n## LoadGen node\n\n%s\n\n- Network: %s; %s\n", lon, cards("loadgen"), d["net_software_stack_loadgen"])
	fmt.Fprintf(&w, "\n## System under test\n\nNodes: %s. `systems/%s.json` describes a node.\n\n- Network: %s; %s\n", strings.Join(nodes, ", "),
		b.System, cards("sut"), d["net_software_stack_sut"])
	fmt.Fprintf(&w, "\n## What is sent\n\n%s\n", sent)
	return b.write(path, []byte(w.String()))
}

// machineText describes the machine of a run.
func machineText(system any) string {
	var m machine.Machine
	data, err := json.Marshal(system)
	if err != nil || json.Unmarshal(data, &m) != nil || m.CPU.Model == "" {
		return checker.Placeholder("the machine of LoadGen")
	}
	return fmt.Sprintf("- Processor: %s, %d sockets, %d cores\n- Memory: %d GiB\n- Software: %s, kernel %s, %s",
		m.CPU.Model, max(1, m.CPU.Sockets), m.CPU.Cores, (m.Memory.TotalBytes+1<<29)>>30, m.OS, m.Kernel, m.Go)
}

// addresses lists the hosts and ports of servers.
func addresses(servers []string) string {
	var list []string
	for _, s := range servers {
		if u, err := url.Parse(s); err == nil && u.Host != "" {
			s = u.Host
		}
		list = append(list, s)
	}
	return strings.Join(list, ", ") + "."
}
