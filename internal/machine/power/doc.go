// Package power measures the energy that a machine takes while something runs.
//
//	source, err := power.Parse("auto") // or rapl, nvml, ptd:HOST:PORT, file:CSV
//	recorder, err := power.Start(ctx, source)
//	… a test …
//	record, err := recorder.Stop()
//	energy, err := record.Between(begin, end) // of the test's traffic
//	fmt.Println(energy.Joules, energy.MeanWatts)
//
// Sources are the counters of processors (rapl.go), which are read once a second, NVIDIA's cards (nvidia.go), whose power
// nvidia-smi prints twice a second, SPEC's PTDaemon (ptd.go), which reads an analyser by itself, and the file of any meter
// (csv.go), which is read in the end. All become series of watts and joules
// over time, one for each part that was measured; energies of parts that contain each other are
// never added up.
//
// What cannot be read is an error that says why and what helps, never zero joules. The package
// writes nothing but the analyser's lines.
package power
