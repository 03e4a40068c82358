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
    fn two_points_are_no_line() {
        assert_eq!(Slope::of(&[(0.0, 1.0), (1.0, 2.0)]), None);
        assert_eq!(Slope::of(&[(1.0, 1.0); 4]), None);
    }
}
