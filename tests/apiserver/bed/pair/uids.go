package pair

import "math/rand/v2"

// UIDRange is how far apart the uids of two understudyds lie.
const UIDRange = 100

// FreeUIDs is the first uid of so many ranges that nobody runs under: another pair may be up, from a
// demo that was kept, and understudyd refuses to share its uids. It looks from a random place on,
// so that two pairs that start at the same moment seldom choose alike.
func FreeUIDs(ranges int) int {
	const first, last = 20000, 25700
	used := map[int]bool{}
	for p := range Procs {
		used[p.Number("Uid")/UIDRange] = true
	}
	taken := func(base int) bool {
		for i := range ranges {
			if used[base/UIDRange+i] {
				return true
			}
		}
		return false
	}
	base := first + ranges*UIDRange*rand.IntN(10)
	for base < last && taken(base) {
		base += ranges * UIDRange
	}
	return base
}
