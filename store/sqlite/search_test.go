package sqlite_test

import (
	"testing"

	"sessiond/store/storetest"
)

func BenchmarkSearch(b *testing.B) { storetest.MeasureSearch(b, open(b, newURL(b))) }
