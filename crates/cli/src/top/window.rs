//! The visible part of a list, and its selected row.

/// A view of a list that is longer than the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) chosen: usize,
    pub(super) first: usize,
    pub(super) height: usize,
}

/// A step through a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Up,
    Down,
    PageUp,
    PageDown,
    Top,
    Bottom,
}

impl Window {
    /// Moves the selection in a list with this number of rows.
    pub(super) fn step(&mut self, step: Step, rows: usize) {
        let page = self.height.max(2) - 1;
        self.chosen = match step {
            Step::Up => self.chosen.saturating_sub(1),
            Step::Down => self.chosen + 1,
            Step::PageUp => self.chosen.saturating_sub(page),
            Step::PageDown => self.chosen + page,
            Step::Top => 0,
            Step::Bottom => rows,
        };
        self.fit(rows);
    }

    /// Keeps the chosen row within the list, and in sight.
    pub(super) fn fit(&mut self, rows: usize) {
        self.chosen = self.chosen.min(rows.saturating_sub(1));
        let height = self.height.max(1);
        self.first = self.first.min(self.chosen).max((self.chosen + 1).saturating_sub(height));
        self.first = self.first.min(rows.saturating_sub(height));
    }

    /// The rows in sight.
    pub(super) fn range(&self, rows: usize) -> std::ops::Range<usize> {
        let first = self.first.min(rows);
        first..(first + self.height).min(rows)
    }

    /// Moves what is in sight, where no row is chosen.
    pub(super) fn scroll(&mut self, step: Step, rows: usize) {
        let last = rows.saturating_sub(self.height.max(1));
        let page = self.height.max(2) - 1;
        self.first = match step {
            Step::Up => self.first.saturating_sub(1),
            Step::Down => self.first + 1,
            Step::PageUp => self.first.saturating_sub(page),
            Step::PageDown => self.first + page,
            Step::Top => 0,
            Step::Bottom => last,
        }
        .min(last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chosen_row_stays_in_sight() {
        let mut window = Window { height: 10, ..Window::default() };
        for (step, chosen, first) in [
            (Step::Down, 1, 0),
            (Step::PageDown, 10, 1),
            (Step::Bottom, 99, 90),
            (Step::Up, 98, 90),
            (Step::PageUp, 89, 89),
            (Step::Top, 0, 0),
            (Step::Up, 0, 0),
        ] {
            window.step(step, 100);
            assert_eq!((window.chosen, window.first), (chosen, first), "{step:?}");
        }
    }

    #[test]
    fn a_list_that_shrinks_keeps_its_window() {
        let mut window = Window { chosen: 50, first: 45, height: 10 };
        window.fit(3);
        assert_eq!((window.chosen, window.first, window.range(3)), (2, 0, 0..3));
        window.fit(0);
        assert_eq!((window.chosen, window.range(0)), (0, 0..0));
    }
}
