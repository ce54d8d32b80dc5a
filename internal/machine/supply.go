package machine

import (
	"path/filepath"
	"strconv"
)

// A Supply is what a machine with a battery runs on, as Linux tells it in /sys/class/power_supply.
type Supply struct {
	External bool   `json:"external_power"`            // a charger is connected
	Status   string `json:"battery_status,omitempty"`  // Charging, Discharging, Not charging or Full
	Percent  int    `json:"battery_percent,omitempty"` // of the charge
}

// PowerSupply reads what this machine runs on; nil: it has no battery, or the system does not tell.
func PowerSupply() *Supply { return powerSupply("/") }

func powerSupply(root string) *Supply {
	const class = "sys/class/power_supply"
	names, _ := filepath.Glob(filepath.Join(root, class, "*"))
	s, battery := Supply{}, false
	for _, name := range names {
		value := func(key string) string { return line(name, key) }
		switch kind := value("type"); {
		case value("scope") == "Device": // of a mouse, a pen
		case kind == "Battery":
			battery = true
			s.Status = value("status")
			s.Percent, _ = strconv.Atoi(value("capacity"))
		case value("online") != "" && value("online") != "0": // Mains, USB, Wireless; 2 is a programmable supply
			s.External = true
		}
	}
	if !battery {
		return nil
	}
	// Some chargers do not say that they are online. A battery that is charged, or kept full, shows that they are.
	s.External = s.External || s.Status == "Charging" || s.Status == "Not charging" || s.Status == "Full"
	return &s
}
