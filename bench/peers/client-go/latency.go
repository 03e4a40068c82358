package main

import (
	"math"
	"slices"
)

// quantile returns a quantile of latencies in nanoseconds, in milliseconds; it sorts them.
func quantile(latencies []int64, share float64) float64 {
	if len(latencies) == 0 {
		return 0
	}
	slices.Sort(latencies)
	return float64(latencies[int(math.Round(float64(len(latencies)-1)*share))]) / 1e6
}
