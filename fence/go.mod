module understudy.test/fence

go 1.24
