package plot

import (
	"math"
	"strconv"
)

// step returns the round distance between ticks, 1, 2 or 5 times a power of ten, that
// gives at most so many up to a value.
func step(top float64, most int) float64 {
	raw := top / float64(most)
	power := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, times := range []float64{1, 2, 5} {
		if raw <= times*power {
			return times * power
		}
	}
	return 10 * power
}

// ticks returns the multiples of a distance up to a value, 0 included.
func ticks(top, distance float64) []float64 {
	var out []float64
	for i := 0; float64(i)*distance <= top; i++ {
		out = append(out, float64(i)*distance)
	}
	return out
}

// grouped writes a whole number with commas between thousands.
func grouped(v float64) string {
	digits := strconv.FormatInt(int64(math.Round(v)), 10)
	out := make([]byte, 0, len(digits)+len(digits)/3)
	for i, d := range []byte(digits) {
		if i > 0 && (len(digits)-i)%3 == 0 && digits[i-1] != '-' {
			out = append(out, ',')
		}
		out = append(out, d)
	}
	return string(out)
}
