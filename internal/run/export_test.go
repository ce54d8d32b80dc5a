package run

// Workers is the number of workers that a run is given; 0: the harness chooses.
func (p *Prepared) Workers() int { return p.config.Instances }
