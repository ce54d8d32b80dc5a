package checker

// daemonChanges are made to the commands that the daemon of the analyzer got, and to its log.
var daemonChanges = []change{
	{"v6.1 power, daemon of another version", offline(func(p *powered) { p.command("Identify", 1, "Identify", "YokogawaWT310E,version=1.11.2-a") })},
	{"v6.1 power, daemon without a version", offline(func(p *powered) { p.command("Identify", 1, "Identify", "YokogawaWT310E") })},
	{"v6.1 power, daemon without an answer", offline(func(p *powered) { p.command("Identify", 1, "Identify", "") })},
	{"v6.1 power, daemon never asked", offline(func(p *powered) { p.command("Identify", 1, "identify", "x") })},
	{"v6.1 power, analyzer unknown", offline(func(p *powered) { p.command("Identify", 1, "Identify", "Other,version=1.11.1-a") })},
	{"v6.1 power, range not changed", offline(func(p *powered) { p.command("SR,V", 1, "SR,V,Auto", "Error") })},
	{"v6.1 power, not started", offline(func(p *powered) { p.command("Go,1000,", 2, "Go,1000,0,x", "Error") })},
	{"v6.1 power, not stopped", offline(func(p *powered) { p.command("Stop", 1, "Stop", "Error: no measurement to stop") })},
	{"v6.1 power, stopped a third time", offline(func(p *powered) { p.command("Stop", 3, "Stop", "Stopping untimed measurement") })},
	{"v6.1 power, stopped twice", offline(func(p *powered) { p.command("Stop", 3, "Status", "x") })},
	{"v6.1 power, stopped with an argument", offline(func(p *powered) { p.command("Stop", 1, "Stop,1", "Stopping untimed measurement") })},
	{"v6.1 power, amperes not set back", offline(func(p *powered) { p.command("SR,A", 3, "SR,A,1", "Range A changed") })},
	{"v6.1 power, amperes set back later", offline(func(p *powered) {
		p.command("SR,A", 3, "SR,A,1", "Range A changed")
		p.command("SR,A", 4, "SR,A,5.0", "Range A changed")
	})},
	{"v6.1 power, amperes set back too late", offline(func(p *powered) {
		p.command("SR,A", 3, "SR,A,1", "Range A changed")
		p.more("SR,A,5.0", "Range A changed")
	})},
	{"v6.1 power, amperes set three times", offline(func(p *powered) { p.command("SR,A", 4, "x", "Range A changed") })},
	{"v6.1 power, volts not set back", offline(func(p *powered) { p.command("SR,V", 3, "SR,V,300", "Range V changed") })},
	{"v6.1 power, volts never set back", offline(func(p *powered) { p.command("SR,V", 3, "x", "x") })},
	{"v6.1 power, ranges that were automatic", offline(func(p *powered) {
		p.command("RR", 1, "RR", "Ranges,0,0,0,-1")
		p.command("SR,A", 3, "SR,A,Auto", "Range A changed")
	})},
	{"v6.1 power, a range of volts not set back", offline(func(p *powered) { p.command("RR", 1, "RR", "Ranges,0,5.0,0,300.0") })},
	{"v6.1 power, a range of volts set back", offline(func(p *powered) {
		p.command("RR", 1, "RR", "Ranges,0,5.0,0,300.0")
		p.command("SR,V", 3, "SR,V,300.0", "Range V changed")
	})},
	{"v6.1 power, ranges in words", offline(func(p *powered) { p.command("RR", 1, "RR", "Ranges,0,five,1,300.0") })},
	{"v6.1 power, ranges that are cut", offline(func(p *powered) { p.command("RR", 1, "RR", "Ranges,0,5.0") })},
	{"v6.1 power, ranges cut behind the amperes", offline(func(p *powered) { p.command("RR", 1, "RR", "Ranges,0") })},
	{"v6.1 power, two words to the daemon", offline(func(p *powered) { p.server["ptd_messages"] = p.server["ptd_messages"].([]any)[:2] })},
	{"v6.1 power, no words to the daemon", offline(func(p *powered) { delete(p.server, "ptd_messages") })},
	{"v6.1 power, null as a reply that nobody reads", offline(func(p *powered) { p.command("Hello", 1, "Hello", nil) })},
	{"v6.1 power, a command that is a number", offline(func(p *powered) { p.command("Hello", 1, 5, "x") })},

	{"v6.1 power, analyzer 8", offline(func(p *powered) { analyzer(p)["device_type"] = 8 })},
	{"v6.1 power, analyzer 9", offline(func(p *powered) { analyzer(p)["device_type"] = 9 })},
	{"v6.1 power, analyzer 49.0", offline(func(p *powered) { analyzer(p)["device_type"] = json49 })},
	{"v6.1 power, analyzer without a type", offline(func(p *powered) { delete(analyzer(p), "device_type") })},
	{"v6.1 power, no analyzer", offline(func(p *powered) { p.server["ptd_config"] = []any{} })},
	{"v6.1 power, analyzers missing", offline(func(p *powered) { delete(p.server, "ptd_config") })},
	{"v6.1 power, two channels", offline(func(p *powered) { channels(p, []any{1, 2}, "-c", "1,2") })},
	{"v6.1 power, two channels but one used", offline(func(p *powered) { channels(p, []any{1}, "-c", "1,2") })},
	{"v6.1 power, two channels used but one", offline(func(p *powered) { channels(p, []any{1, 2}, "-c", "1") })},
	{"v6.1 power, two channels and none named", offline(func(p *powered) { channels(p, []any{1, 2}, "-p", "1,2") })},
	{"v6.1 power, two channels, cut", offline(func(p *powered) { channels(p, []any{1, 2}, "-c") })},
	{"v6.1 power, channels null", offline(func(p *powered) { channels(p, nil, "-c", "1,2") })},

	{"v6.1 power, no ranging in the daemon's log", offline(func(p *powered) { p.daemon[1] = p.at(-1000) + ": Go with mark 'session_testing'" })},
	{"v6.1 power, ranging without an end in the daemon's log", offline(func(p *powered) { p.daemon = p.daemon[:2] })},
	{"v6.1 power, uncertainty not checked", offline(func(p *powered) { p.daemon = p.daemon[1:] })},
	{"v6.1 power, uncertainty checked too late", offline(func(p *powered) { p.daemon[0] = p.at(-999) + ": Uncertainty checking for YokogawaX is activated" })},
	{"v6.1 power, uncertainty checked at no time", offline(func(p *powered) { p.daemon[0] = "Uncertainty checking for YokogawaX is activated" })},
	{"v6.1 power, uncertainty of a meter with a space", offline(func(p *powered) { p.daemon[0] = p.at(-2000) + ": Uncertainty checking for Yokogawa X is activated" })},
	{"v6.1 power, uncertain in the run", offline(func(p *powered) { p.logged(1500, ": WARNING: "+aboveLimit) })},
	{"v6.1 power, uncertain soon after the begin", offline(func(p *powered) { p.logged(800, ": WARNING: "+aboveLimit) })},
	{"v6.1 power, uncertain soon before the end", offline(func(p *powered) { p.logged(runSeconds-800, ": WARNING: "+aboveLimit) })},
	{"v6.1 power, uncertain at no time", offline(func(p *powered) { p.daemon = append(p.daemon, "WARNING: "+aboveLimit) })},
	{"v6.1 power, another warning before an error", offline(func(p *powered) { p.logged(1500, ": WARNING: x"); p.logged(1501, ": ERROR: y") })},
	{"v6.1 power, another warning too early to end the check", offline(func(p *powered) { p.logged(1, ": WARNING: x"); p.logged(1501, ": ERROR: y") })},
	{"v6.1 power, an empty warning", offline(func(p *powered) { p.logged(1500, ": WARNING:"); p.logged(1501, ": ERROR: y") })},
	{"v6.1 power, an error in the run", offline(func(p *powered) { p.logged(1500, ": ERROR: Bad watts reading nan from x") })},
	{"v6.1 power, an error of USB in the run", offline(func(p *powered) { p.logged(1500, ": ERROR: USB."); p.logged(1501, ": ERROR: y") })},
	{"v6.1 power, a usual error in ranging", offline(func(p *powered) { p.logged(-700, ": ERROR: Bad watts reading nan from x") })},
	{"v6.1 power, a usual error in ranging before another", offline(func(p *powered) {
		p.logged(-700, ": ERROR: Bad watts reading nan from x")
		p.logged(1500, ": ERROR: y")
	})},
	{"v6.1 power, an unusual error in ranging before another", offline(func(p *powered) { p.logged(-700, ": ERROR: x"); p.logged(1500, ": ERROR: y") })},
	{"v6.1 power, an error when ranging ends", offline(func(p *powered) { p.logged(-500, ": ERROR: x") })},
	{"v6.1 power, an error when ranging begins", offline(func(p *powered) { p.logged(-1000, ": ERROR: x") })},
	{"v6.1 power, an error at no time", offline(func(p *powered) { p.daemon = append(p.daemon, "ERROR: x") })},
	{"v6.1 power, a time that is none", offline(func(p *powered) { p.daemon = append([]string{"13-01-2026 10:00:00.000: x"}, p.daemon...) })},
	{"v6.1 power, a time that is none behind ranging", offline(func(p *powered) { p.daemon = append(p.daemon, "13-01-2026 10:00:00.000: x") })},
	{"v6.1 power, the daemon's log not UTF-8", offline(func(p *powered) { p.daemon = append(p.daemon, "\xff") })},
	{"v6.1 power, the daemon's log empty", offline(func(p *powered) { p.daemon = nil })},
}

// plateChanges give the system a nameplate.
var plateChanges = []change{
	{"v6.1 nameplate and capacity", plate(`"1200"`, "x")},
	{"v6.1 nameplate of power", plate("", "node:\n  PSUs:\n  - PowerCapacityWatts: 800\n  - PowerCapacityWatts: 900\n  Min PSUs Needed: 1\n")},
	{"v6.1 nameplate of several nodes", plate("", "- a: {psus: [{PowerCapacityWatts: 800.5}], MIN PSUS NEEDED: 3}\n- b: [{PSUs: [{}, {PowerCapacityWatts: 1}], Min PSUs Needed: 1}]\n- 5\n")},
	{"v6.1 nameplate empty", plate("", "")},
	{"v6.1 nameplate a text", plate("", "hello\n")},
	{"v6.1 nameplate without a count", plate("", "PSUs: [{PowerCapacityWatts: 800}]\n")},
	{"v6.1 nameplate with a count of 1.0", plate("", "{PSUs: [{PowerCapacityWatts: 800}], Min PSUs Needed: 1.0}\n")},
	{"v6.1 nameplate with a count in quotes", plate("", "{PSUs: [{PowerCapacityWatts: 800}], Min PSUs Needed: '1'}\n")},
	{"v6.1 nameplate with watts in quotes", plate("", "{PSUs: [{PowerCapacityWatts: '800'}], Min PSUs Needed: 1}\n")},
	{"v6.1 nameplate with watts of null", plate("", "{PSUs: [{PowerCapacityWatts: null}], Min PSUs Needed: 1}\n")},
	{"v6.1 nameplate with a supply that is a number", plate("", "{PSUs: [800], Min PSUs Needed: 1}\n")},
	{"v6.1 nameplate with supplies that are a number", plate("", "{PSUs: 800, Min PSUs Needed: 1}\n")},
	{"v6.1 nameplate with a tab", plate("", "a:\n\tb: 1\n")},
}
