"""Shows pages about abuse: pumping, sudden volume, and names that look like others."""
