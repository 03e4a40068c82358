//! How much something grows with time, by least squares.

/// A straight line through points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Slope {
    /// By how much the value grows in a second.
    pub(crate) per_second: f64,
    pub(crate) mean: f64,
}

impl Slope {
    /// The line through points of seconds and values; nothing of less than three.
    pub(crate) fn of(points: &[(f64, f64)]) -> Option<Self> {
        if points.len() < 3 {
            return None;
        }
        let count = points.len() as f64;
        let middle = points.iter().map(|(time, _)| time).sum::<f64>() / count;
        let mean = points.iter().map(|(_, value)| value).sum::<f64>() / count;
        let spread: f64 = points.iter().map(|(time, _)| (time - middle).powi(2)).sum();
        let slant: f64 = points.iter().map(|(time, value)| (time - middle) * (value - mean)).sum();
        (spread > 0.0).then(|| Self { per_second: slant / spread, mean })
    }

    /// By how much of its mean it grows in an hour.
    pub(crate) fn share_per_hour(self) -> f64 {
        self.per_second * 3600.0 / self.mean.max(1.0)
    }
}

/// The lowest point of each span of so many seconds; not of one that has but few points, as the last may.
pub(crate) fn troughs(points: &[(f64, f64)], span: f64) -> Vec<(f64, f64)> {
    let of_one_span = |a: &(f64, f64), b: &(f64, f64)| (a.0 / span).floor() == (b.0 / span).floor();
    let lowest = |span: &[(f64, f64)]| span.iter().copied().min_by(|a, b| a.1.total_cmp(&b.1));
    let spans = || points.chunk_by(of_one_span);
    let most = spans().map(<[_]>::len).max().unwrap_or(0);
    spans().filter(|span| 2 * span.len() >= most).filter_map(lowest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_through_its_noise() {
        let noise = [3.0, -3.0, -3.0, 3.0];
        let points: Vec<_> = (0..40_u32)
            .map(|at| (f64::from(at), 100.0 + 2.0 * f64::from(at) + noise[at as usize % 4]))
            .collect();
        let slope = Slope::of(&points).unwrap();
        assert!((slope.per_second - 2.0).abs() < 0.05, "{slope:?}");
        assert_eq!(slope.mean, 139.0);
    }

    #[test]
    fn a_share_is_of_the_mean_and_of_an_hour() {
        let slope = Slope { per_second: 1.0, mean: 36_000.0 };
        assert_eq!(slope.share_per_hour(), 0.1);
    }

    #[test]
    fn peaks_are_not_looked_at() {
        let points =
            [(0.0, 5.0), (30.0, 9.0), (59.0, 6.0), (60.0, 8.0), (119.0, 5.5), (240.0, 7.0), (280.0, 8.0)];
        assert_eq!(troughs(&points, 60.0), [(0.0, 5.0), (119.0, 5.5), (240.0, 7.0)]);
        // One point of a minute is as likely a peak.
        assert_eq!(troughs(&points[..6], 60.0), [(0.0, 5.0), (119.0, 5.5)]);
        assert_eq!(troughs(&[], 60.0), []);
    }

    #[test]
    fn two_points_are_no_line() {
        assert_eq!(Slope::of(&[(0.0, 1.0), (1.0, 2.0)]), None);
        assert_eq!(Slope::of(&[(1.0, 1.0); 4]), None);
    }
}
