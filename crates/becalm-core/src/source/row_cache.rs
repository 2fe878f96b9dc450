//! Values that are read only once for a new row: whether a disk is whole, a network interface's MTU.

/// The values by the row's place in the file.
pub struct RowCache<T>(Vec<(Vec<u8>, T)>);

impl<T> Default for RowCache<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Copy> RowCache<T> {
    /// Return the value for the key at this place; it is found anew when another key, or none, was there
    /// before.
    pub fn get(&mut self, place: usize, key: &[u8], find: impl FnOnce(&str) -> T) -> T {
        match self.0.get(place) {
            Some((known, value)) if known == key => *value,
            _ => {
                self.0.truncate(place);
                let value = find(&String::from_utf8_lossy(key));
                self.0.push((key.to_owned(), value));
                value
            }
        }
    }
}
