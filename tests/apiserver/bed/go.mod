module understudy.test/bed

go 1.26.0

require understudy.test/fence v0.0.0

replace understudy.test/fence => ../../../fence
