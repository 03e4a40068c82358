//! The trend of memory over time, by least squares.

/// A straight line through points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Trend {
    pub(crate) per_second: f64,
    pub(crate) mean: f64,
}

impl Trend {
    /// Returns the line through points of seconds and values; `None` for less than three points.
    pub(crate) fn of(points: &[(f64, f64)]) -> Option<Self> {
        if points.len() < 3 {
            return None;
        }
        let count = points.len() as f64;
        let mean_time = points.iter().map(|(time, _)| time).sum::<f64>() / count;
        let mean = points.iter().map(|(_, value)| value).sum::<f64>() / count;
        let variance: f64 = points.iter().map(|(time, _)| (time - mean_time).powi(2)).sum();
        let covariance: f64 = points.iter().map(|(time, value)| (time - mean_time) * (value - mean)).sum();
        (variance > 0.0).then(|| Self { per_second: covariance / variance, mean })
    }

    /// Returns the growth per hour as a share of the mean.
    pub(crate) fn share_per_hour(self) -> f64 {
        self.per_second * 3600.0 / self.mean.max(1.0)
    }
}

/// Returns the lowest point of each span of seconds, without spans that have few points, such as the last one.
///
/// A list in progress is in use for a moment only, so the minimum shows the memory that remains.
pub(crate) fn minimums(points: &[(f64, f64)], span: f64) -> Vec<(f64, f64)> {
    let is_same_span = |a: &(f64, f64), b: &(f64, f64)| (a.0 / span).floor() == (b.0 / span).floor();
    let minimum = |span: &[(f64, f64)]| span.iter().copied().min_by(|a, b| a.1.total_cmp(&b.1));
    let spans = || points.chunk_by(is_same_span);
    let longest = spans().map(<[_]>::len).max().unwrap_or(0);
    spans().filter(|span| 2 * span.len() >= longest).filter_map(minimum).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_trend_is_found_in_noise() {
        let noise = [3.0, -3.0, -3.0, 3.0];
        let points: Vec<_> = (0..40_u32)
            .map(|at| (f64::from(at), 100.0 + 2.0 * f64::from(at) + noise[at as usize % 4]))
            .collect();
        let trend = Trend::of(&points).unwrap();
        assert!((trend.per_second - 2.0).abs() < 0.05, "{trend:?}");
        assert_eq!(trend.mean, 139.0);
        assert_eq!(Trend { per_second: 1.0, mean: 36_000.0 }.share_per_hour(), 0.1);
    }

    #[test]
    fn peaks_and_short_spans_are_ignored() {
        let points =
            [(0.0, 5.0), (30.0, 9.0), (59.0, 6.0), (60.0, 8.0), (119.0, 5.5), (240.0, 7.0), (280.0, 8.0)];
        assert_eq!(minimums(&points, 60.0), [(0.0, 5.0), (119.0, 5.5), (240.0, 7.0)]);
        assert_eq!(minimums(&points[..6], 60.0), [(0.0, 5.0), (119.0, 5.5)]);
        assert_eq!(minimums(&[], 60.0), []);
    }

    #[test]
    fn two_points_have_no_trend() {
        assert_eq!(Trend::of(&[(0.0, 1.0), (1.0, 2.0)]), None);
        assert_eq!(Trend::of(&[(1.0, 1.0); 4]), None);
    }
}
