module github.com/fencepost-sim/fencepost

go 1.26
