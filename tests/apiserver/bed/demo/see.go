package demo

import "understudy.test/bed/see"

// The story's words for looking from outside.
var (
	errLate = see.ErrLate
	until   = see.Until
	watch   = see.Watch
	await   = see.Await
	page    = see.Page
	leading = see.Leading
	logged  = see.Logged
	named   = see.Named
)

type sight = see.Sight
