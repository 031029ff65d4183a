package leader

import (
	"testing"
	"time"
)

func TestCovered(t *testing.T) {
	at := func(ms int) time.Time { return time.UnixMilli(int64(ms)) }
	for _, c := range []struct {
		spans []span
		want  int
	}{
		{nil, 0},
		{[]span{{at(10), at(20)}}, 10},
		{[]span{{at(-5), at(5)}, {at(95), at(200)}}, 10},  // cut at both ends
		{[]span{{at(30), at(40)}, {at(10), at(35)}}, 30},  // overlap counts once
		{[]span{{at(10), at(50)}, {at(20), at(30)}}, 40},  // one in another
		{[]span{{at(-9), at(-1)}, {at(100), at(120)}}, 0}, // outside
		{[]span{{at(10), at(20)}, {at(20), at(30)}}, 20},  // one after the other
		{[]span{{at(0), at(100)}, {at(0), at(100)}}, 100}, // the whole
	} {
		if got := covered(c.spans, at(0), at(100)); got != time.Duration(c.want)*time.Millisecond {
			t.Errorf("%v: %v, want %d ms", c.spans, got, c.want)
		}
	}
}
