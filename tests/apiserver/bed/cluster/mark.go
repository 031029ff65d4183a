package cluster

// Mark is the environment variable by which Down finds a program: whoever starts one on a bed
// puts it in.
func (b *Bed) Mark() string { return marker + b.Dir }
