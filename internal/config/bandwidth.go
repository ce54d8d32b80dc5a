package config

import "fmt"

// A Bandwidth is the network that a datacenter system must have, in bytes per second.
// 0: any.
type Bandwidth struct{ Ingress, Egress float64 }

// MinBandwidth returns the bandwidth that the rules ask of a datacenter system which
// answers samplesPerSecond of a model, with inputs and outputs of bytesPerValue. It
// returns an error for a model that the rules have no formula for.
func MinBandwidth(m Model, samplesPerSecond float64, bytesPerValue int) (Bandwidth, error) {
	if samplesPerSecond < 0 || bytesPerValue <= 0 {
		return Bandwidth{}, fmt.Errorf("want a speed of at least 0 and values of at least 1 byte, got %g and %d", samplesPerSecond, bytesPerValue)
	}
	if m.Sample == nil {
		return Bandwidth{}, fmt.Errorf("the rules have no formula for the bandwidth of %s", m.Name)
	}
	return Bandwidth{
		Ingress: samplesPerSecond * (float64(m.Sample.InValues)*float64(bytesPerValue) + float64(m.Sample.InBytes)),
		Egress:  samplesPerSecond * float64(m.Sample.OutValues) * float64(bytesPerValue),
	}, nil
}
