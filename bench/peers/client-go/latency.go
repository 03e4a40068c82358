package main

import (
	"cmp"
	"math"
	"slices"
	"time"
)

const (
	window      = int64(2500 * time.Millisecond)
	shortWindow = int64(100 * time.Millisecond)
	often       = 2000.0
	least       = 100.0
	// soon is what an event takes that has not waited in a queue, nor for a collector.
	soon = int64(5 * time.Millisecond)
)

// timed is one event that says when it was sent, and how long it was on its way, in nanoseconds.
type timed struct {
	sent, took int64
}

// windows says, for each 2.5 seconds, or each tenth of one where there are few events in it, below which time this share of its events lies, in milliseconds.
func windows(all []timed, share float64) []float64 {
	if len(all) == 0 {
		return []float64{}
	}
	sorted := slices.SortedFunc(slices.Values(all), func(a, b timed) int { return cmp.Compare(a.sent, b.sent) })
	span, length := sorted[len(sorted)-1].sent-sorted[0].sent, window
	if rate := float64(len(sorted)) * 1e9 / float64(max(1, span)); rate < often {
		length = max(shortWindow, int64(least*1e9/rate))
	}
	count := max(1, int((span+length/2)/length))
	var found []float64
	for part := range slices.Chunk(sorted, (len(sorted)+count-1)/count) {
		took := make([]int64, len(part))
		for i, one := range part {
			took[i] = one.took
		}
		slices.Sort(took)
		found = append(found, quantile(took, share))
	}
	return found
}

// inTime is the share of so many events that came soon after they were sent.
func inTime(all []timed, events uint64) float64 {
	came := 0
	for _, one := range all {
		if one.took <= soon {
			came++
		}
	}
	return float64(came) / float64(max(1, events))
}

// quantile is the value below which this share of sorted values lies, in milliseconds.
func quantile(sorted []int64, share float64) float64 {
	return float64(sorted[int(math.Round(float64(len(sorted)-1)*share))]) / 1e6
}
