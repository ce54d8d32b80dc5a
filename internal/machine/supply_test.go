package machine

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPowerSupply(t *testing.T) {
	const class = "sys/class/power_supply/"
	for _, c := range []struct {
		name  string
		files files
		want  *Supply
	}{
		{"a server", files{"sys/kernel/x": ""}, nil},
		{"only a charger", files{class + "AC/type": "Mains", class + "AC/online": "1"}, nil},
		{"a mouse", files{class + "hid/type": "Battery", class + "hid/scope": "Device", class + "hid/capacity": "40"}, nil},
		{"on battery", files{
			class + "AC/type": "Mains", class + "AC/online": "0",
			class + "BAT0/type": "Battery", class + "BAT0/status": "Discharging", class + "BAT0/capacity": "83",
		}, &Supply{Status: "Discharging", Percent: 83}},
		{"plugged in", files{
			class + "AC/type": "Mains", class + "AC/online": "1",
			class + "BAT0/type": "Battery", class + "BAT0/status": "Full", class + "BAT0/capacity": "100",
		}, &Supply{External: true, Status: "Full", Percent: 100}},
		{"charging by a port that says nothing", files{
			class + "battery/type": "Battery", class + "battery/status": "Charging", class + "battery/capacity": "7",
		}, &Supply{External: true, Status: "Charging", Percent: 7}},
	} {
		if diff := cmp.Diff(c.want, powerSupply(c.files.write(t))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}
